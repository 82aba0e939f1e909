"""What every user of a chat model shares: prompts as files, tolerant reading of replies, bounded calls."""
