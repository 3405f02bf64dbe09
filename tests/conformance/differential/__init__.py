"""Differential tests of spiece against SentencePiece 0.2.3.

Job: run the same input through both programs and compare the results.
Input: a seed and a number of cases; Output: a report and minimized failing cases.
The modules in the order of the data flow: `bootstrap`, `texts`, `wire`, `flags`, `train_options`, `models`,
`case`, `kinds`, `reference_worker`, `sides`, `runner`, `minimize`.
"""
