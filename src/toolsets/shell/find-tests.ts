/** The projects whose tests are known, by a file at their root, and the command that runs these. */
const PROJECTS: readonly (readonly [file: string, command: string])[] = [
  ["package.json", "npm test --"],
  ["Cargo.toml", "cargo test"],
  ["go.mod", "go test ./..."],
  ["pyproject.toml", "python3 -m pytest"],
  ["pytest.ini", "python3 -m pytest"],
  ["setup.py", "python3 -m pytest"],
  ["Makefile", "make test"],
];

const CASES = PROJECTS.map(([file, command]) => `if [ -e ${file} ]; then ${command} "$@"; exit; fi`).join(
  "\n",
);

const UNKNOWN = `None of these files is here: ${PROJECTS.map(([file]) => file).join(", ")}. Run the tests with run_command.`;

/** A function of bash, and a call of it: runs the tests of the project in the working directory. */
export const FIND_TESTS: string = `find_tests() {
${CASES}
echo "${UNKNOWN}" >&2
exit 127
}
find_tests`;
