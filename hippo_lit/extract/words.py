"""English words that carry no meaning alone, for the rules over spaCy."""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    """A set of words, written as one text."""
    return frozenset(text.split())


# Nouns that name nothing without a complement: "the effect", "this study", "the number of …".
GENERIC = words("""
    ability absence abstract account action addition advance advantage age aim amount analysis
    application approach area array article aspect assessment association attempt attention author
    background base baseline basis behalf beginning behavior behaviour benefit body case category cause
    challenge chance change characteristic choice circumstance class combination comparison component
    concept concern conclusion condition consequence consideration contrast contribution control
    correlation cost count couple course criterion criteria data dataset day decade decline decrease
    definition degree description design detail determination development difference difficulty
    direction discussion distribution domain effect effectiveness efficacy effort element emphasis end
    estimate evaluation event evidence examination example existence experience experiment explanation
    extent fact factor feature field figure finding focus follow-up form framework frequency function
    future goal group half hand history hour hypothesis idea impact implementation implication
    importance improvement incidence increase index individual influence information input instance
    interest introduction investigation issue item kind knowledge lack latter former level limit
    limitation link list literature little loss lot majority manner material matter means measure
    measurement mechanism member method methodology minority minute mode model month nature need none
    number objective observation occurrence one onset opportunity option order origin others outcome
    output pair paper parameter part participant patient pattern people percent percentage performance
    period person perspective phase phenomenon place point portion position possibility potential power
    practice preference presence prevalence principle problem procedure process product proportion
    property purpose quality quantity question range rate ratio reason recommendation reduction
    reference relation relationship relevance report requirement research respect response rest result
    review risk role rule sample scale scenario scheme scope score search section selection sense series
    set setting severity share sign significance similarity situation size solution something sort
    source stage standard start state statistic status step strategy strength structure study subject
    subset success suggestion summary support survey system task technique tendency term test thing time
    today topic total treatment trend trial type understanding unit use utility validity value variable
    variation variety version view volume way week work world year
""")

# At the front of a phrase: what never belongs to a name.
DETERMINERS = words("""
    a an the this that these those his her its their our my your whose which what such own other another
    some any all both each every either neither many much several various certain numerous
    even also very quite rather just so-called about approximately nearly almost roughly around over
    under up out of than at 's no not only overall respective corresponding aforementioned given
""")

# Adjectives that tell nothing about what a phrase names, though a statement may turn on them.
WEAK = words("""
    few fewer same different similar further additional first second third fourth fifth next last previous
    following current recent present new present-day possible potential important significant main major
    key general specific particular relevant well-known widely commonly known former
""")

# Abbreviations of statistics and titles, which are no entities.
STATISTICS = words(
    "CI CIs SD SDs SE SEM OR ORs aOR RR RRs HR HRs aHR IQR ICC MD SMD WMD ANOVA AUC ROC vs M N F T P"
)

DEGREES = words("more most less least")

# Adjectives that judge rather than name: "a novel approach" is no entity, "an attention-based approach" is.
EVALUATIVE = words("""
    novel new good better best high higher highest low lower lowest large larger largest small smaller
    great greater greatest approximate effective useful promising simple powerful strong stronger poor
    little full whole wide broad broader primary common similar unique initial final early earlier late
    later long longer short shorter big excellent only first second third fourth fifth last next
    non-significant significant statistically statistical clear increased increasing reduced decreased
    growing single considerable central key crucial critical essential vital pivotal major main
    prominent substantial sufficient limited detailed comprehensive total maximum minimum mean median
    more most less least
""")

NUMERALS = words(
    "one two three four five six seven eight nine ten eleven twelve dozen hundred thousand million"
)

RELATIVE = words("who whom which that whose where when what")

PRONOUNS = words(
    "it they he she we i you them him her us me one there itself themselves himself herself which who al"
)

# Verbs that take "of"; elsewhere an "of" belongs to a noun, and the parser is wrong.
OF_VERBS = words("""
    consist consists consisted consisting composed comprised made died die dies dying think thought
    approve approved accused capable deprived informed convicted rid cured speak speaks dispose heard
    hear
""")

# What no "he" or "she" is.
WORKS = words("""
    film movie album song single novel book series band group company game play poem opera episode show
    magazine journal newspaper team club university school
""")

# Whom "who" can mean, besides names.
HUMAN = words("""
    patients patient women woman men man children child people persons person adults adult participants
    participant subjects individuals students student players player members member users workers
    physicians nurses infants adolescents volunteers athletes residents mothers boys girls survivors
    veterans politician actor musician writer
""")

# Nouns that relate two things: "the association between A and B", "the effect of A on B".
LINKS = words("""
    association associations correlation correlations relationship relationships link links interaction
    interactions effect effects impact influence efficacy effectiveness difference differences
    comparison
""")

# "We hypothesised that A improves B" does not say that it does.
UNASSERTED = words("""
    hypothesize hypothesized hypothesizes hypothesise hypothesised hypothesises assume assumed assumes
    test tested examine examined ask asked asks determine determined investigate investigated explore
    explored doubt doubted expect expected expects predict wonder wondered deny denied denies pretend
    hope hoped assess assessed evaluate evaluated
""")

# Phrases that only link sentences: "in addition to", "in contrast", "as a result".
LINKING_NOUNS = words("""
    order addition contrast case fact particular reason general terms turn regard regards respect total
    part comparison result consequence conclusion summary example instance time way view light place
    practice detail short effect response accordance average whole basis end beginning
""")

KEEP_ADVERBS = words("never rarely hardly seldom scarcely barely no only longer")

# Function words that make up a third of English running text.
FUNCTION_WORDS = words("""
    the of and in to a is was for on with as by that at from are were an be this which it has have or
    not we its his her their but been these than also can into between after during who he she they
""")


def is_generic(word: str) -> bool:
    """Whether a noun, in singular or plural, names nothing alone."""
    low = word.lower()
    singular = (low, low.removesuffix("s"), low.removesuffix("es"), low.removesuffix("ies") + "y")
    return any(form in GENERIC for form in singular) or low in (
        "analyses",
        "hypotheses",
        "phenomena",
        "bases",
    )
