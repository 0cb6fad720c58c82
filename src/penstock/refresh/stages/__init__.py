"""The stages of one refresh, a module each, and what they decide by.

Only `penstock.refresh` and readers that compute without committing (`reading`) call them. They import `engine` and
below, and know nothing of leases, history or other stream tables.
"""
