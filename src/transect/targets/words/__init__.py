"""Models that answer in words, asked questions about images.

`questions` and `question_file` say what is asked, `wordings` in which texts, `reading` what a text says, `coding` what
a free text holds, and `values` what one image's answers come to. All are pure functions: none of them asks a model.
"""
