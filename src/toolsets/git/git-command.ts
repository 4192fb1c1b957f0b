import type { ProcessImplementation } from "../../tool/implementations/process-implementation.ts";

/**
 * Configuration of a repository that git would run programs by, or that would lead it elsewhere. A repository that an agent
 * works on is not trusted: its configuration can come with it.
 */
const OVERRIDES: readonly string[] = [
  "core.hooksPath=/dev/null",
  "core.fsmonitor=false",
  "core.untrackedCache=false",
  "core.pager=cat",
  "core.editor=false",
  "core.askPass=",
  "core.sshCommand=false",
  "core.gitProxy=",
  "core.alternateRefsCommand=true",
  "credential.helper=",
  "gpg.program=false",
  "gpg.x509.program=false",
  "gpg.ssh.program=false",
  "gpg.ssh.defaultKeyCommand=false",
  "commit.gpgSign=false",
  "tag.gpgSign=false",
  "push.gpgSign=false",
  "log.showSignature=false",
  "merge.verifySignatures=false",
  // Another format can have signatures verified.
  "format.pretty=medium",
  "diff.external=",
  "diff.ignoreSubmodules=all",
  "http.sslVerify=true",
  "interactive.diffFilter=",
  "sequence.editor=false",
  "submodule.recurse=false",
  "fetch.recurseSubmodules=false",
  "maintenance.auto=false",
  "gc.auto=0",
  "advice.detachedHead=false",
];

/** Settings with a name of their own, which only the repository knows: programs, and what holds for one URL. */
const NAMED_SETTINGS =
  "http\\..*\\.sslverify|" +
  "filter\\..*\\.(clean|smudge|process|required)|merge\\..*\\.driver|credential\\..*\\.helper|trailer\\..*\\.(command|cmd)";

/**
 * Replaces, for this run, the programs that the repository names, and runs git. A file in a filter's care is read as it is,
 * and a file for which a merge needs a driver is a conflict. The arguments are passed on as they are: the shell does not
 * interpret them. `GIT_AUTHORIZATION`, if it is granted, is sent to the remote repository.
 */
const SCRIPT = `
fail() { echo "$1" >&2; exit 128; }
[ -e .git ] || fail "The first granted directory is not the root of a git repository: create one with git init, or have another directory granted"
# Git runs git in submodules, whose programs are not replaced. It runs the git that is found here, which does nothing there:
# only in a submodule, the work tree is not set. The helpers of git are found by PATH.
program=$(command -v git) && bin=$(mktemp -d) &&
  printf '#!/bin/sh\\n[ -z "$GIT_WORK_TREE" ] || exec "%s" "$@"\\n' "$program" >"$bin/git" && chmod +x "$bin/git" ||
  fail "Git is not installed, or its temporary files could not be written"
PATH="$PATH:$(git --exec-path)"
export GIT_EXEC_PATH="$bin"
git() { command git --git-dir=.git --work-tree=. --no-pager --literal-pathspecs "$@"; }
# Git as the call runs it, for what is looked at before.
look() { git ${OVERRIDES.map((setting) => `-c '${setting}'`).join(" ")} "$@"; }
count=0
set_value() {
  export "GIT_CONFIG_KEY_$count=$1" "GIT_CONFIG_VALUE_$count=$2"
  count=$((count + 1))
}
# In other locales, no pattern matches a name that is not UTF-8.
names=$(export LC_ALL=C; git config --name-only --get-regexp '^(${NAMED_SETTINGS})$') || :
while IFS= read -r name; do
  case $name in
    '') ;;
    filter.*.required | merge.*) set_value "$name" false ;;
    trailer.* | http.*) set_value "$name" true ;;
    *) set_value "$name" '' ;;
  esac
done <<END
$names
END
[ -z "$GIT_AUTHORIZATION" ] || set_value http.extraHeader "Authorization: $GIT_AUTHORIZATION"
unset GIT_AUTHORIZATION
export GIT_CONFIG_COUNT=$count
`;

/** Fails unless the configuration of the repository names who commits. Git would guess, or advise to change other files. */
export const REQUIRE_AUTHOR: string =
  'git -c user.useConfigOnly=true var GIT_AUTHOR_IDENT >/dev/null 2>&1 || fail "The author of commits is not known: ask ' +
  'the user to set user.name and user.email in the configuration of this repository"';

/** Fails if the repository cannot be changed, in clearer words than git, which would name a lock file. */
export const REQUIRE_WRITE: string =
  'if [ -f .git/HEAD ] && [ ! -L .git/HEAD ]; then (: >>.git/HEAD) 2>/dev/null || fail "The repository cannot be changed: ' +
  'its directory was granted for reading only. Ask the user to grant this tool the directory with write"; fi';
/**
 * Appends to the last argument, a branch or tag, where it is pushed to: under its own name. Git would look for another one in
 * the configuration of the repository, which can also ask for overwriting.
 */
export const PUSH_BY_NAME: string =
  'for name; do :; done; full=$(git rev-parse --verify --quiet --symbolic-full-name "$name") || :; case $full in ' +
  "refs/heads/* | refs/tags/*) ;; *) fail \"There is no branch '$name' to push: git_branch lists the branches\" ;; esac; " +
  'set -- "$@:$full"';

const ENVIRONMENT: Readonly<Record<string, string>> = {
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_ATTR_NOSYSTEM: "1",
  GIT_TERMINAL_PROMPT: "0",
  // Configuration cannot change it, unlike `protocol.allow`, which gives way to that of a single protocol.
  GIT_ALLOW_PROTOCOL: "https",
  GIT_OPTIONAL_LOCKS: "0",
  LC_ALL: "C.UTF-8",
};

/** A call of git: its arguments, the first of which is the command. */
type GitArguments<Input> = NonNullable<
  Extract<ProcessImplementation<Input>["args"], (...args: never) => unknown>
>;

/**
 * Returns a program that runs git in the first granted directory, without a hook, filter, driver or other program that the
 * configuration of the repository names.
 *
 * @param args Returns the arguments of git, the first of which is its command.
 * @param checks Returns what must succeed before, as commands of sh. Default: nothing.
 */
export function git<Input>(
  args: GitArguments<Input>,
  checks: (input: Input) => readonly string[] = () => [],
): ProcessImplementation<Input> {
  const overrides = OVERRIDES.flatMap((setting) => ["-c", setting]);
  const scriptFor = (input: Input): string => [SCRIPT, ...checks(input), 'git "$@"'].join("\n");
  return {
    command: "sh",
    args: (input, context) => ["-c", scriptFor(input), "git", ...overrides, ...args(input, context)],
    input: "none",
    output: "completion",
    failOnExit: true,
    env: ENVIRONMENT,
    // A model could take an empty result for a failure, and some providers reject one.
    result: ({ stdout, stderr }) => `${stdout}${stderr}` || "Done. Git printed nothing.",
  };
}
