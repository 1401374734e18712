# SPDX-License-Identifier: Apache-2.0
"""page_commands.py must find what is broken: a page with each fault, and one without any.

RACELINE: the program; CXX and CC: compilers; BUILD: a folder that is built whole.
"""

import contextlib
import io
import os
import tempfile
import unittest
from pathlib import Path

import page_commands

CPP = "```cpp\nauto time = raceline::{}({{}});\n```\n"
CMAKE = "```cmake\nfind_package(raceline REQUIRED COMPONENTS c)\ntarget_link_libraries(mine PRIVATE {})\n```\n"
BROKEN = {
    "a shape that is none": "```sh\nraceline predict --device h200 --shape h=8,q=1,k=64,dd=64\n```\n",
    "in the folder build": "```sh\nbuild/raceline predict --devices h200\n```\n",
    "indented": "1. a step\n\n   ```sh\n   raceline kernel\n   ```\n",
    "in a pipe": "```sh\nraceline kernels | grep -q no_such_kernel\n```\n",
    "a target that is none": "```sh\nmake coffee\n```\n",
    "a script that is none": "```sh\ntools/no_such_script.sh\n```\n",
    "over two lines": "```sh\nraceline predict --device h200 \\\n    --shape h=8\n```\n",
    "a block without a language": "```\nraceline kernels\n```\n",
    "an excerpt that strayed": "<!-- from: examples/cpp/attention.cpp -->\n```cpp\nint strayed;\n```\n",
    "C++ that does not compile": CPP.format("predict_backward"),
    "C that does not compile": "```c\nrl_suites(NULL);\n```\n",
    "a C excerpt that strayed": "<!-- from: examples/c/attention.c -->\n```c\nint strayed;\n```\n",
    "CMake with a target that is none": CMAKE.format("raceline::none"),
    "JSON that is none": '```json\n{"schema": 1,}\n```\n',
    "a variable that make does not read": "```sh\nmake fuzz FUZZ_SECOND=60\n```\n",
    "make in a sentence": "Run `make coffee`.\n",
    "a script in a sentence": "Run `tools/no_such_script.sh quick`.\n",
    "pip in a sentence": "Run `pip install nothing`.\n",
    "another shell's grammar or command": "```zsh\nsource <(raceline completions zsh)\n```\n",
    "output that is not so": "<!-- raceline:begin output raceline kernels | grep simt -->\n```sh\n"
                             "raceline kernels | grep simt\n```\n\n```text\nsimt, more or less\n```\n<!-- raceline:end -->\n",
    "an answer that is not so": "<!-- raceline:begin answer device=h200 shape=h=8,k=64,d=64 -->\n```text\nno\n```\n"
                                "<!-- raceline:end -->\n",
    "a file that cannot be read": "<!-- file: a.csv -->\n```csv\nname,flop\na,1\n```\n```sh\nraceline point a.csv "
                                  "--device h200\n```\n",
    "a line that needs one before it": "```sh\n$HERE/raceline kernels\n```\n",
    "an option in a sentence": "Run `raceline predict --explains`.\n",
    "a command in a sentence": "Run `raceline predicts`.\n",
    "a shape in a sentence": "Run `raceline predict --device h200 --op softmax`.\n",
}
WHOLE = ("```sh\nraceline predict --device h200 --shape h=8,q=1,k=64,d=64  # a line\nraceline plot roofline run.jsonl >x\n"
         "make test RELEASE=cpu\nexport HERE=build\n$HERE/raceline kernels\n```\n"
         "<!-- raceline:begin output raceline kernels | grep linear_cublaslt -->\n```sh\nraceline kernels \\\n"
         "    | grep -o linear_cublaslt\n```\n\n```text\nlinear_cublaslt\n```\n<!-- raceline:end -->\n"
         "<!-- file: a.csv -->\n```csv\nname,bytes\na,1e6\n```\n```sh\nraceline point a.csv --device h200\n```\n"
         "```zsh\nsource <(raceline completion zsh)\n```\nRun `make test` or `tools/fuzz.sh quick`.\n" + CPP.format("predict_forward")
         + "```c\nstatic int here(void);\nint status = here();\n```\n```c\nstatus = RL_OK;\n```\n"
         + CMAKE.format("raceline::c") + '```json\n{"schema": 1}\n```\n'
         + "`raceline predict --explain`, `raceline bench --receipts FILE` and `raceline help predict`.\n")


class Pages(unittest.TestCase):
    def judged(self, texts: dict[str, str]) -> tuple[int, str]:
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as said:
            pages = [Path(folder, f"{name}.md") for name in texts]
            for page in pages:
                page.write_text(texts[page.stem], encoding="utf-8")
            result = page_commands.main([os.environ["RACELINE"], "--cxx", os.environ["CXX"], "--cc", os.environ["CC"],
                                         "--build", os.environ["BUILD"], *map(str, pages)])
        return result, said.getvalue()

    def test_a_page_that_is_right(self) -> None:
        self.assertEqual(self.judged({"whole": WHOLE}), (0, "13 commands and 6 blocks of code, 0 failed\n"))

    def test_each_fault_is_found(self) -> None:
        result, said = self.judged(BROKEN)
        self.assertEqual(result, 1)
        self.assertIn(f" {len(BROKEN)} failed", said)
        for name in BROKEN:
            self.assertIn(f"/{name}.md: ", said)

    def test_pages_without_anything_to_run_prove_nothing(self) -> None:
        self.assertEqual(self.judged({"words": "Words alone.\n"})[0], 1)


if __name__ == "__main__":
    unittest.main()
