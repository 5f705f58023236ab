#!/usr/bin/env python3
"""Runs commands in turn, prints time and memory of each, and holds ratios of medians against their goals.

  turns.py RUNS NAME=COMMAND... -- GOAL...

A goal is `ONE/OTHER<=X` or `ONE/OTHER>=X` over medians of wall time, or `MiB NAME<=X` over the highest memory. CPU time is
printed beside the wall time: on a busy machine it is the steadier of the two.
"""
import os, re, shlex, statistics, subprocess, sys, time


def run(words):
    start = time.perf_counter()
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    took = time.perf_counter() - start
    if status != 0:
        sys.exit(f"{words[0]} failed with {status}")
    return took, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def main():
    at = sys.argv.index("--")
    runs, goals = int(sys.argv[1]), sys.argv[at + 1 :]
    commands = {name: shlex.split(command) for name, command in (pair.split("=", 1) for pair in sys.argv[2:at])}
    taken = {name: [] for name in commands}
    for _ in range(runs):
        for name, words in commands.items():
            taken[name].append(run(words))
    for name, rows in taken.items():
        wall, cpu, memory = (list(column) for column in zip(*rows))
        print(f"{name:10} wall {statistics.median(wall) * 1e3:8.0f} ms (least {min(wall) * 1e3:.0f}), "
              f"cpu {statistics.median(cpu) * 1e3:8.0f} ms, {max(memory):6.0f} MiB")
    for goal in goals:
        name, sign, limit = re.fullmatch(r"(.*)([<>]=)(.*)", goal).groups()
        if name.startswith("MiB "):
            if name[4:] not in taken:
                continue
            found, more = max(row[2] for row in taken[name[4:]]), ""
        else:
            one, other = name.split("/")
            if one not in taken or other not in taken:
                continue
            ratio = lambda column: statistics.median(row[column] for row in taken[one]) / statistics.median(
                row[column] for row in taken[other])
            found, more = ratio(0), f", by cpu {ratio(1):.2f}"
        is_met = found <= float(limit) if sign == "<=" else found >= float(limit)
        print(f"{name:18} {found:7.2f} (goal {sign} {limit}) {'met' if is_met else 'MISSED'}{more}")


if __name__ == "__main__":
    main()
