import { shorten } from "../engine/result-budget.ts";
import type { ProcessImplementation } from "../tool/implementations/process-implementation.ts";
import { ToolFailure } from "../tool/tool-failure.ts";
import type { PathArgument } from "../tool/tool-traits.ts";
import { PROTECTED_PLACES } from "../workspace/protected-places.ts";

/**
 * Configuration of a repository that git would run programs by, or that would lead it elsewhere. A repository that an agent
 * works on is not trusted: its configuration can come with it.
 */
const OVERRIDES: readonly string[] = [
  "core.hooksPath=/dev/null",
  "core.fsmonitor=false",
  "core.untrackedCache=false",
  "core.pager=cat",
  // Names stand as other tools take them.
  "core.quotePath=false",
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

/** Settings whose names depend on the repository: programs, and settings for one URL. */
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
if [ -f .git ]; then
  elsewhere=$(sed -n 's/^gitdir: //p' .git)
  (: <"$elsewhere/HEAD") 2>/dev/null || fail "This is a linked worktree or a submodule, whose repository is not in the granted directories: use the tools in the repository itself, or run git with run_command"
fi
[ -e .git ] || [ ! -d objects ] || [ ! -f HEAD ] || fail "The first granted directory is a bare repository, which has no files to work with: have a clone of it granted"
[ -e .git ] || fail "The first granted directory is not the root of a git repository: create one with git init, or have another directory granted"
# Git runs git in submodules, whose programs are not replaced. It runs the git that is found here, which does nothing there:
# only in a submodule, the work tree is not set. The helpers of git are found by PATH.
program=$(command -v git) && bin=$(mktemp -d) &&
  printf '#!/bin/sh\\n[ -z "$GIT_WORK_TREE" ] || exec "%s" "$@"\\n' "$program" >"$bin/git" && chmod +x "$bin/git" ||
  fail "Git is not installed, or its temporary files could not be written"
PATH="$PATH:$(git --exec-path)"
export GIT_EXEC_PATH="$bin"
literal=--literal-pathspecs
git() { command git --git-dir=.git --work-tree=. --no-pager $literal "$@"; }
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

/**
 * Fails unless the configuration of the repository names an author. Git would guess one, or advise changing
 * other files.
 */
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
  'refs/heads/* | refs/tags/*) ;; HEAD) fail "HEAD is on no branch: name the branch to push" ;; ' +
  '*) git rev-parse --verify --quiet HEAD >/dev/null || fail "There is no commit to push on this branch"; ' +
  "fail \"There is no branch '$name' to push: git_branch lists the branches\" ;; esac; " +
  'set -- "$@:$full"';

/** Fails if the repository does not know the remote, which is the last argument but one: git would take it for a directory. */
export const REQUIRE_REMOTE: string = `
for each; do remote=$last; last=$each; done
look remote get-url "$remote" >/dev/null 2>&1 || fail "This repository has no remote '$remote': ask the user to add one with git remote add $remote https://…"`;

/** Fails if all changes would be committed while files of a merge still have the marks of conflicts. */
export const REQUIRE_RESOLVED: string = `
if [ -n "$(look ls-files --unmerged)" ]; then
  marked=$(look diff --check | grep 'leftover conflict marker' | head -n 20) || :
  [ -z "$marked" ] || fail "Files have conflicts, which are not resolved:
$marked
Edit them, and commit then"
fi`;

/** Reports which of the staged files have a filter, such as those of Git LFS, or conflict markers. */
export const SAY_WHAT_IS_STAGED: string = `
filtered=$(look diff --cached --name-only --diff-filter=d | look check-attr --stdin filter | grep -v ': filter: \\(unspecified\\|unset\\|set\\)$' | head -n 20) || :
[ -z "$filtered" ] || printf '%s\\n' "Filters do not run here, so these files are staged as they are, not as their filter would write them:" "$filtered" "If the filter is needed, unstage them, and ask the user to stage them or run git with run_command."
marked=$(look diff --cached --check | grep 'leftover conflict marker' | head -n 20) || :
[ -z "$marked" ] || printf '%s\\n' "These lines look like the marks of conflicts:" "$marked"`;

/** Reports a rebase, merge, cherry-pick or revert that is under way. */
export const SAY_WHAT_IS_UNDER_WAY: string = `
if [ -d .git/rebase-merge ] || [ -d .git/rebase-apply ]; then echo "A rebase is under way: it goes on or ends with git itself."
elif [ -f .git/MERGE_HEAD ]; then echo "A merge is under way: resolve what is in conflict (U), stage it and commit."
elif [ -f .git/CHERRY_PICK_HEAD ]; then echo "A cherry-pick is under way: resolve what is in conflict (U), stage it and commit."
elif [ -f .git/REVERT_HEAD ]; then echo "A revert is under way: resolve what is in conflict (U), stage it and commit."
fi`;

/** For a call that passes no path on: git's own programs, which take the option over from it, have patterns. */
export const PATTERNS = "literal=";

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

/** Maximum number of characters of a failure's text. */
const MAX_FAILURE = 4_000;

/**
 * What git says about its configuration, which no call can change: a branch that follows another one is noted there, and
 * removed with the branch.
 */
const ABOUT_CONFIGURATION =
  /^(error|warning): (could not (write|lock) config file|update of config-file failed).*\n?/gim;

const ONLY_HTTPS =
  "Remotes are reached over HTTPS only: ask the user to set such an address with git remote set-url";

/** Advice about messages of git. */
const HINTS: readonly (readonly [pattern: RegExp, hint: string])[] = [
  [/transport '\w+' not allowed/, ONLY_HTTPS],
  [
    /invalid reference|unknown revision|bad revision/,
    "git_branch lists the branches, and git_log the commits",
  ],
];

/** How a tool runs git. */
export interface GitRun<Input> {
  /** Returns what must succeed before, as commands of sh. Default: nothing. */
  readonly checks?: (input: Input) => readonly string[];
  /** What is printed after it, as commands of sh. Default: nothing. */
  readonly after?: string;
  /** Returns what the model reads if git prints nothing. Default: that. */
  readonly nothing?: (input: Input) => string;
  /** Returns what the model reads after what git printed. Default: nothing. */
  readonly also?: (output: string) => string;
}

/**
 * Returns a program that runs git in the first granted directory, without a hook, filter, driver or other program that the
 * configuration of the repository names.
 *
 * @param args Returns the arguments of git, the first of which is its command.
 */
export function git<Input>(
  args: GitArguments<Input>,
  {
    checks = () => [],
    after = "",
    nothing = () => "Done. Git printed nothing.",
    also = () => "",
  }: GitRun<Input> = {},
): ProcessImplementation<Input> {
  const overrides = OVERRIDES.flatMap((setting) => ["-c", setting]);
  const scriptFor = (input: Input): string =>
    [SCRIPT, ...checks(input), 'git "$@" || exit', after].join("\n");
  return {
    command: "sh",
    args: (input, context) => ["-c", scriptFor(input), "git", ...overrides, ...args(input, context)],
    input: "none",
    output: "completion",
    env: ENVIRONMENT,
    result: ({ exitCode, stdout, stderr, note }, input) => {
      const output = `${stdout}${stderr.replace(ABOUT_CONFIGURATION, "")}`;
      const noted = note === undefined ? "" : `\n${note}`;
      if (exitCode !== 0) throw new ToolFailure("execution_error", `${failure(output, exitCode)}${noted}`);
      // A model could take an empty result for a failure, and some providers reject one.
      return `${output || nothing(input)}${also(output)}${noted}`;
    },
  };
}

/** Git writes the reason of a failure to either output: that there is nothing to commit, for example, to the standard one. */
function failure(output: string, exitCode: number): string {
  const text = output.trim();
  if (text === "") return `Git exited with code ${exitCode}, and printed nothing`;
  const [, hint = ""] = HINTS.find(([pattern]) => pattern.test(text)) ?? [];
  return `${shorten(text, MAX_FAILURE, 0.5)}${hint && `\n${hint}`}`;
}

/** An argument of a call that a person has confirmed: protected files that it may write. */
export interface OpenedFiles {
  readonly protected?: readonly string[];
}

/** The schema of the argument. */
export const PROTECTED_FILES: {
  readonly type: "array";
  readonly items: { readonly type: "string"; readonly maxLength: 4_096 };
  readonly maxItems: 100;
  readonly description: string;
} = {
  type: "array",
  items: { type: "string", maxLength: 4_096 },
  maxItems: 100,
  description:
    "Protected files that the call may write: the user is asked. Protected is what other programs start (.githooks, .husky, " +
    ".gitmodules, .envrc, .claude, .mcp.json, .vscode and the like) or follow (AGENTS.md, .github/workflows, .npmrc and the like). " +
    "The tool names them if it refuses a call for their sake.",
};

/** The trait of a tool with the argument. */
export const OPENS_PROTECTED: readonly PathArgument[] = [
  { argument: "/protected/*", access: "write", opensProtected: true },
];

/** An extended regular expression for paths in protected places, in any case. */
const PATTERN = PROTECTED_PLACES.map(({ path }) => path)
  .filter((path) => !path.startsWith(".git/"))
  .map((path) => path.replace(/[.+]/g, "\\$&").replaceAll("*", "[^/]*"))
  .join("|");

/**
 * Returns commands of sh that fail before anything is written, if protected files would be.
 *
 * @param changed Commands that print the paths that would be written, each with a NUL.
 */
export function refuseProtectedFiles(changed: string, { protected: opened = [] }: OpenedFiles): string {
  const list = opened.map((path) => `${quote(path)}`).join(" ");
  return `
opened=$(printf '%s\\n' ${list || "''"})
found=$({ ${changed}
} 2>/dev/null | tr '\\0' '\\n' | grep -iE '(^|/)(${PATTERN})(/|$)' | sort -u | grep -vxF -e "$opened" | head -n 20 | paste -sd, | sed 's/,/, /g')
[ -z "$found" ] || fail "Nothing was done: this would write files that other programs run or follow: $found. Name them in 'protected' to have the user asked"`;
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
