# SPDX-License-Identifier: Apache-2.0
"""One shape of a comparison: predicted, proven, timed beside every peer that is right, written."""

import contextlib
import zlib


def first_line(error):
    text = str(error).strip()
    return f"{type(error).__name__}: {text.splitlines()[0] if text else 'no message'}"


def described(peer):
    """What a row holds of any peer."""
    return {"name": peer.name, "version": peer.version, "backend": peer.backend}


def ask(machine, peer, problem, sets, judge):
    """(call, answer, names of kernels, verdict) of a peer, run once. Raises whatever it raises."""
    call = peer.bind(problem, sets)
    with peer.context():
        answer, kernels = machine.first_answer(getattr(call, "answer", call))
    return call, answer, kernels, peers_verdict(problem, judge, answer)


def peers_verdict(problem, judge, answer):
    """The gate's, with our bounds. 8-bit outputs that are beyond these alone are judged once more by
    the bounds of sums that nothing promotes: a peer may trade accuracy for speed, but the row says
    so, in `accuracy`, and keeps the error. Over an 8-bit cache that is the error from queries rounded to
    8 bits, as the peer rounds them; the one from the queries as given is printed."""
    verdict = judge.verdict(answer)
    if verdict["passed"] or problem.cache_dtype != "e4m3":
        return verdict
    loosely = judge.verdict(answer, "fast")
    if not loosely["passed"]:
        return verdict
    if problem.mixed:
        print(f"  right for queries in {problem.cache_dtype}; from the queries as given its relative "
              f"RMS error is {verdict['relative_rms']:.2e}")
    return {**loosely, "accuracy": "fast"}


def unasked_cache(peer, problem):
    """Why a peer is not asked for such a cache, or nothing: each is asked for the one it is made for."""
    if getattr(peer, "paged", False):
        return "" if problem.page_size else "it is asked for pages alone"
    if problem.page_size:
        return "it is asked for contiguous caches alone"
    return "its cache has the queries' type" if problem.mixed else ""


class Comparison:
    """One run: the library with its open receipt, the machine, the peers that are there."""

    def __init__(self, library, machine, peers, arguments):
        self.library, self.machine, self.peers = library, machine, peers
        self.arguments = arguments
        self.failures = []  # sentences; any of them makes the run fail
        self.said = set()

    def predicted(self, text):
        about = self.library.predict(text, self.machine.device_id, self.arguments.kernel,
                                     self.machine.launch_path, self.arguments.threads)
        about["suite"] = self.arguments.suite_name
        about["case"] = {**about["case"], "regime": self.arguments.regime}
        return about

    def run_shape(self, problem, about):
        """{label: comparison row} of one shape."""
        kernel = about["kernel"]
        seed = zlib.crc32(problem.text.encode()) ^ self.arguments.seed
        row = self.library.append("prediction", about)
        about = {**about, "prediction_id": row["id"], "seed": seed}
        sets = self.machine.make_sets(problem, seed, self.arguments.spread)
        judge = problem.judge(self.library, sets[0], kernel, seed)
        ours = problem.ours(self.library, sets, kernel, self.arguments.threads)
        answer, kernels = self.machine.first_answer(ours)
        about["correctness"] = judge.verdict(answer)
        about["backend"] = " + ".join([kernel] + kernels)
        if not about["correctness"]["passed"]:
            self.library.append("check", about)
            self.failures.append(f"{problem.text}: {about['correctness']['why']}")
            return {}
        calls = {"raceline": (ours, contextlib.nullcontext)}
        answers = {"raceline": answer}
        entries = self.judged_peers(problem, about, sets, judge, calls, answers)
        if len(calls) == 1:
            return {}
        timings, failed = self.machine.measure(calls, problem, sets, answers)
        return self.rows(problem, about, entries, timings, failed)

    def judged_peers(self, problem, about, sets, judge, calls, answers):
        """Runs every peer once. Those that pass the gate join `calls` and `answers`; returned is
        what a receipt holds of them, by label."""
        entries = {}
        for peer in self.peers:
            if getattr(peer, "is_operation", False) != problem.is_operation:
                continue
            reason = unasked_cache(peer, problem) or peer.refusal(problem)
            if reason:
                self.say_once(f"  {peer.label}: not asked: {reason}")
                continue
            entry = described(peer)
            try:
                call, answer, kernels, entry["correctness"] = ask(self.machine, peer, problem, sets,
                                                                  judge)
            except Exception as error:  # noqa: BLE001 - one peer must not end the others' run
                self.refuse(about, entry, peer.label, first_line(error))
                continue
            entry["backend"] = ": ".join([peer.backend] + [" + ".join(kernels)] * bool(kernels))
            if not entry["correctness"]["passed"]:
                self.refuse(about, entry, peer.label, entry["correctness"]["why"])
                continue
            entries[peer.label] = entry
            calls[peer.label] = (call, peer.context)
            answers[peer.label] = answer
        return entries

    def say_once(self, sentence):
        if sentence not in self.said:
            self.said.add(sentence)
            print(sentence)

    def refuse(self, about, entry, label, reason):
        """A peer without a right answer has no time: why, and its error, go on record."""
        print(f"  {label}: not compared: {reason}")
        content = {k: v for k, v in about.items() if k not in ("prediction", "correctness")}
        self.library.append("refusal", {**content, "peer": entry, "reason": f"{label}: {reason}"})

    def rows(self, problem, about, entries, timings, failed):
        for label, reason in failed.items():
            if label == "raceline":
                self.failures.append(f"{problem.text}: {reason}")
            else:
                self.refuse(about, entries[label], label, reason)
        rows = {}
        if "raceline" not in timings:
            return rows
        ours = timings["raceline"]
        about["case"] = {**about["case"], "launch_path": ours.launch_path}
        for label, theirs in timings.items():
            if label == "raceline":
                continue
            entry = {**entries[label], "launch_path": theirs.launch_path}
            rows[label] = self.library.append_comparison(about, ours, entry, theirs)
        return rows
