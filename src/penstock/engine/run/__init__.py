"""One stream table's place of work: its session, its compiled plan, and the delta program run over pinned reads.

Imports every room below. The stages of a refresh call it to plan and to compute.

Open to every package: adopt, change_rows, program, workspace, written_rows.
"""
