"""English words that carry no meaning alone, for the rules over spaCy."""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Nouns that name nothing without a complement: "the effect", "this study", "the number of …".
GENERIC = _words("""
    ability absence abstract account action addition advance advantage age aim amount analysis application
    approach area array article aspect assessment association attempt attention author background base baseline
    basis behalf beginning behavior behaviour benefit body case category cause challenge chance change
    characteristic choice circumstance class combination comparison component concept concern conclusion
    condition consequence consideration contrast contribution control correlation cost count couple course
    criterion criteria data dataset day decade decline decrease definition degree description design detail
    determination development difference difficulty direction discussion distribution domain effect
    effectiveness efficacy effort element emphasis end estimate evaluation event evidence examination example
    existence experience experiment explanation extent fact factor feature field figure finding focus follow-up
    form framework frequency function future goal group half hand history hour hypothesis idea impact
    implementation implication importance improvement incidence increase index individual influence information
    input instance interest introduction investigation issue item kind knowledge lack latter former level
    limit limitation link list literature little loss lot majority manner material matter means measure
    measurement mechanism member method methodology minority minute mode model month nature need number
    objective observation occurrence one onset option order origin others outcome output pair paper parameter
    part participant patient pattern people percent percentage performance period person perspective
    phase phenomenon place point portion position possibility potential power practice preference presence
    prevalence principle problem procedure process product proportion property purpose quality quantity question
    range rate ratio reason recommendation reduction reference relation relationship relevance report
    requirement research respect response rest result review risk role rule sample scale scenario scheme
    scope score search section selection sense series set setting severity share sign significance similarity
    situation size solution something sort source stage standard start state statistic status step strategy
    strength structure study subject subset success suggestion summary support survey system task technique
    tendency term test thing time today topic total treatment trend trial type understanding unit use
    utility validity value variable variation variety version view volume way week work world year
""")

# Adjectives and adverbs at the front of a phrase that tell nothing about what it names.
WEAK = _words("""
    a an the this that these those his her its their our my your whose which what such same own other another
    some any all both each every either neither many much more most several few fewer less least various
    certain numerous different similar further additional only even also very quite rather just so-called
    first second third next last previous following current recent present new present-day overall possible
    potential important significant main major key general specific particular relevant respective
    corresponding aforementioned well-known widely commonly known given about approximately nearly almost
    roughly around over under up out of 's no not
""")

NUMERALS = _words("one two three four five six seven eight nine ten eleven twelve dozen hundred thousand million")

RELATIVE = _words("who whom which that whose where when what")

# "We hypothesised that A improves B" does not say that it does.
UNASSERTED = _words("""
    hypothesize hypothesized hypothesizes hypothesise hypothesised hypothesises assume assumed assumes test tested
    examine examined ask asked asks determine determined investigate investigated explore explored doubt doubted
    expect expected expects predict wonder wondered deny denied denies pretend hope hoped assess assessed evaluate
    evaluated
""")

# Phrases that only link sentences: "in addition to", "in contrast", "as a result".
LINKING_NOUNS = _words("""
    order addition contrast case fact particular general terms turn regard regards respect total part comparison
    result consequence conclusion summary example instance time way view light place practice detail short effect
    response accordance average whole basis end beginning
""")

KEEP_ADVERBS = _words("never rarely hardly seldom scarcely barely no only longer")

# Function words that make up a third of English running text.
FUNCTION_WORDS = _words("""
    the of and in to a is was for on with as by that at from are were an be this which it has have or not we
    its his her their but been these than also can into between after during who he she they
""")


def is_generic(word: str) -> bool:
    """Whether a noun, in singular or plural, names nothing alone."""
    low = word.lower()
    singular = (low, low.removesuffix("s"), low.removesuffix("es"), low.removesuffix("ies") + "y")
    return any(form in GENERIC for form in singular) or low in ("analyses", "hypotheses", "phenomena", "bases")
