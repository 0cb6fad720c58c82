"""Subscriptions: who follows the changes of stream tables, where each has got to, and what it is given."""
