"""Simulated clients of one table, interleaved call by call as a schedule says."""
