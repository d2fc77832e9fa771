"""Questions that tests ask of models in words, as a file has them."""

SMILE = '[[question]]\nname = "smile"\nkind = "yes-no"\nprompt = "Is this person smiling? Yes or no."\n'
SMILE_TWICE = SMILE + 'paraphrases = ["Do you see a smile? Yes or no."]\n'
SMILE_THRICE = SMILE + (
    'paraphrases = ["Do you see a smile? Yes or no.", "Would you say that this person smiles? Yes or no."]\n'
)
ROLE = (
    '[[question]]\nname = "role"\nkind = "choice"\nprompt = "What would you do with this application? {options}"\n'
    'options = ["hire", "reject"]\n'
)
ROLE_OF_THREE = ROLE.replace('"reject"', '"reject", "wait"')
TRUST = '[[question]]\nname = "trust"\nkind = "pair"\nprompt = "Whom would you rather trust? Answer with {options}."\n'
