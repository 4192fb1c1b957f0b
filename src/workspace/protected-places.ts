import { LruMap } from "../base/lru-map.ts";

/** Places that tools may not simply write to, since other programs run what is there, or follow it. */
export interface ProtectedPlace {
  /** Names below any directory, in lower case, with `/` between them. `*` in a name is any text. */
  readonly path: string;
  /** Whether a person can be asked about a change by a host tool, or only a grant that names the place allows it. */
  readonly list: "denied" | "asked";
  /** Completes "what is there …". */
  readonly reason: string;
  /** Set for what belongs to Sandgate itself, which no grant opens that does not name it. */
  readonly isOwn?: true;
}

function places(list: ProtectedPlace["list"], reason: string, paths: string): readonly ProtectedPlace[] {
  return paths.split(/\s+/).map((path) => ({ path, list, reason }));
}

/** Every protected place. SECURITY.md has the same list, as a test checks. */
export const PROTECTED_PLACES: readonly ProtectedPlace[] = [
  ...places(
    "denied",
    "tells git which programs to run, or where to find a repository",
    ".git/hooks .git/config .git/config.worktree .git/commondir .git/modules .git/worktrees .git/info/attributes " +
      ".gitconfig .gitmodules .githooks .husky .config/git .config/husky .git-credentials",
  ),
  ...places(
    "denied",
    "holds keys, or commands that give credentials or run at a login",
    ".ssh .gnupg .aws .kube .docker .pam_environment .netrc .pgpass",
  ),
  ...places(
    "denied",
    "is read by shells and sessions when they start, or when they enter the directory",
    ".profile .login .logout .kshrc .mkshrc .cshrc .tcshrc .bashrc .bash_profile .bash_login .bash_logout .bash_aliases " +
      ".bash_completion .bashrc.d .shrc .zsh .oh-my-zsh .xonshrc .rvmrc .autoenv* .config/nushell .config/powershell .config/xonsh " +
      ".zshrc .zshenv .zprofile .zlogin .zlogout .inputrc .envrc .direnvrc .xprofile .xinitrc .xsession .xsessionrc " +
      ".config/direnv .config/fish .config/zsh .config/autostart .config/environment.d .config/systemd .local/bin " +
      ".local/share/applications .local/share/systemd .local/share/dbus-1 .config/autostart-scripts .config/plasma-workspace " +
      ".config/i3 .config/sway .config/hypr library/launchagents .forward .mailcap .lessfilter .curlrc .wgetrc",
  ),
  ...places(
    "denied",
    "configures coding agents, with their hooks, MCP servers and permissions",
    ".claude .claude.json .mcp.json .cursor .codex .gemini .qwen .opencode opencode.json opencode.jsonc .cline .roo .roomodes " +
      ".kilocode .kilocodemodes .windsurf .continue .continuerc.json .aider.conf.yml .amp .crush .crush.json crush.json .pi .copilot " +
      ".github/copilot .github/hooks .agents .amazonq .augment .factory .goose .junie .kiro .openhands .trae " +
      ".devin .antigravity .agent .aiassistant .codeium .tabnine .warp .qodo .rovodev .gptme gptme.toml .clinerules/hooks .config/amp .config/crush .config/goose .config/opencode",
  ),
  ...places(
    "denied",
    "has tasks and programs that editors and development environments start",
    ".vscode *.code-workspace .idea .run .fleet .vs .zed .helix .nvim.lua .nvimrc .exrc .vim .vimrc .gvimrc .emacs .emacs.d " +
      ".dir-locals.el .dir-locals-2.el .config/nvim .config/emacs .config/zed .devcontainer .devcontainer.json .gitpod.yml " +
      ".idx .replit .stackblitzrc .codesandbox .theia .nova *.sublime-project .externaltoolbuilders .lvimrc .ideavimrc .kakrc .spacemacs .doom.d " +
      ".config/helix .config/kak",
  ),
  ...places(
    "denied",
    "is run by debuggers, interpreters and terminals when they start",
    ".gdbinit .lldbinit .irbrc .pryrc .ghci .rprofile .psqlrc .sqliterc .screenrc .tmux.conf .config/tmux .config/kitty .config/alacritty .config/wezterm " +
      ".wezterm.lua .pdbrc .pythonrc .pythonrc.py .ipython .jupyter .perldb .iex.exs .erlang .ocamlinit .octaverc .julia/config .rdebugrc " +
      ".mongorc.js .mongoshrc.js .my.cnf",
  ),
  ...places(
    "asked",
    "is followed by coding agents as instructions",
    "agents.md agents.override.md agent.md claude.md claude.local.md gemini.md qwen.md crush.md warp.md .cursorrules " +
      ".windsurfrules .clinerules* .roorules* .kilocoderules* .continuerules .goosehints .rules .github/copilot-instructions.md .github/instructions " +
      ".github/prompts .github/chatmodes .github/agents .github/skills",
  ),
  ...places(
    "asked",
    "is run by continuous integration",
    ".github/workflows .github/actions .gitea/workflows .forgejo/workflows .gitlab-ci.yml .gitlab/ci .circleci .travis.yml " +
      "azure-pipelines.yml .azure-pipelines .azuredevops .build.yml .builds .harness bitrise.yml codemagic.yaml buildspec.yml bitbucket-pipelines.yml jenkinsfile .buildkite .drone.yml .woodpecker* .appveyor.yml " +
      "appveyor.yml .cirrus.yml .teamcity .semaphore .tekton cloudbuild.yaml",
  ),
  ...places(
    "asked",
    "tells package managers what to run, or where packages come from",
    ".npmrc .yarnrc* .yarn/releases .yarn/plugins .yarn/sdks .pnp.* .pnpmfile.* pnpmfile.* pnpm-workspace.yaml bunfig.toml .bunfig.toml .pypirc " +
      "pip.conf .pip .config/pip uv.toml .config/uv poetry.toml .cargo .gemrc .bundle .mvn .mavenrc .m2/settings.xml gradle/wrapper " +
      ".gradle/init.d .gradle/init.gradle .gradle/gradle.properties nuget.config .condarc .mambarc .composer .config/composer .config/go " +
      ".bazelrc .bazeliskrc .terraformrc",
  ),
  ...places(
    "asked",
    "tells version managers which program to run",
    ".tool-versions mise.toml mise.*.toml .mise.toml .mise.*.toml .mise mise/config.toml .miserc* .config/mise .config/mise.toml .config/mise.*.toml .asdfrc .python-version .ruby-version " +
      ".node-version .nvmrc .java-version .sdkmanrc rust-toolchain rust-toolchain.toml",
  ),
  ...places(
    "asked",
    "is run by hooks and filters of git",
    ".pre-commit-config.* prek.toml lefthook.* lefthook-local.* .lefthook* .config/lefthook* hk.pkl .lintstagedrc* lint-staged.config.* .simple-git-hooks.* .huskyrc* .overcommit.yml " +
      ".gitattributes",
  ),
];

/** What the descriptions of tools say about protected places, which are too many to name them all. */
export const PROTECTED_TEXT: string =
  "Read-only there: what other programs start (.git/hooks, .git/config, .ssh, .bashrc, .envrc, .claude, .mcp.json, .vscode and the like), " +
  "and what they follow (AGENTS.md, .github/workflows, .npmrc, .pre-commit-config.yaml and the like). " +
  "The whole list stands in SECURITY.md of Sandgate.";

/** The prefix of names that belong to Sandgate itself, such as those of files that are still being written. */
export const OWN_PREFIX = ".sandgate";

const OWN_PLACE: ProtectedPlace = {
  path: `${OWN_PREFIX}*`,
  list: "denied",
  reason: "belongs to Sandgate itself",
  isOwn: true,
};

/**
 * A folder with these names is a repository to git, whatever its own name is: git reads its `config`, and runs what that
 * names, when it is started there.
 */
const BARE_REPOSITORY = ["head", "objects", "refs"];

export const REPOSITORY_PLACE: ProtectedPlace = {
  path: "HEAD beside objects and refs",
  list: "denied",
  reason: "would make the folder a repository, whose configuration tells git which programs to run",
};

/** Whether a folder would become a repository by an entry of this name. */
export function completesRepository(name: string, exists: (other: string) => boolean): boolean {
  const folded = foldName(name);
  if (!BARE_REPOSITORY.includes(folded)) return false;
  return BARE_REPOSITORY.every((each) => each === folded || exists(each) || exists(each.toUpperCase()));
}

/** Whether a folder with these names is a repository to git. */
export function isRepositoryFolder(names: readonly string[]): boolean {
  return ["HEAD", "objects", "refs"].every((name) => names.includes(name));
}

const NEW_VERSION = /^\.sandgate-[0-9a-f]{16}\.tmp$/;

/** Whether this is the name that a new version of a file has while it is written: it soon gets the name of the file. */
export function isNewVersion(name: string): boolean {
  return NEW_VERSION.test(name);
}

/**
 * Returns the place that an entry belongs to, if it may be changed only with a person's consent or a grant that names the
 * place: the one with the stricter list of several.
 *
 * @param path The names from the root of the file system to the entry. Names that are the same on some file systems, such
 *   as in another case, count as the same.
 * @param named How many of these names the grant itself has. A place that ends among them is named by the grant.
 * @param isReplaced Whether anything could be put in the entry's place. The beginning of a protected place is then
 *   protected, too: a directory that gets the name `.git` would bring its hooks along.
 */
export function protectedPlace(
  path: readonly string[],
  named: number,
  isReplaced: boolean,
): ProtectedPlace | undefined {
  let found: ProtectedPlace | undefined;
  let folded: readonly string[] | undefined;
  for (const [start, own] of path.entries()) {
    const { name, places: begun } = beginningWith(own);
    if (start >= named && name.startsWith(OWN_PREFIX)) return OWN_PLACE;
    if (begun.length === 0) continue;
    folded ??= path.map((each) => beginningWith(each).name);
    const names = folded;
    for (const { names: place, place: described } of begun) {
      const end = Math.min(start + place.length, names.length);
      if (end <= named || (end - start < place.length && !isReplaced)) continue;
      if (!names.slice(start, end).every((each, index) => isSame(each, place[index] as string))) continue;
      if (described.list === "denied") return described;
      found ??= described;
    }
  }
  return found;
}

interface SplitPlace {
  readonly names: readonly string[];
  readonly place: ProtectedPlace;
}

const SPLIT: readonly SplitPlace[] = PROTECTED_PLACES.map((place) => ({
  names: place.path.split("/"),
  place,
}));
/** By their first names. Those whose first name has a `*` are compared with every name. */
const BY_NAME = new Map<string, SplitPlace[]>();
const BY_PATTERN = SPLIT.filter(({ names: [first = ""] }) => first.includes("*"));
for (const split of SPLIT) {
  const [first = ""] = split.names;
  if (!first.includes("*")) BY_NAME.set(first, [...(BY_NAME.get(first) ?? []), split]);
}

const NONE: readonly SplitPlace[] = [];

interface Beginning {
  /** See {@link foldName}. */
  readonly name: string;
  /** The places that can begin with it. */
  readonly places: readonly SplitPlace[];
}

/** The longest name of a file, on most file systems. */
const MAX_NAME_LENGTH = 255;

/** By names as they are. Most are looked up again and again, as those of the directories of a search. */
const beginnings = new LruMap<string, Beginning>(1_024);

function beginningWith(own: string): Beginning {
  const known = beginnings.get(own);
  if (known !== undefined) return known;
  const name = foldName(own);
  const beginning = { name, places: placesFrom(name) };
  if (own.length <= MAX_NAME_LENGTH) beginnings.set(own, beginning);
  return beginning;
}

function placesFrom(name: string): readonly SplitPlace[] {
  if (SHORT_NAME.test(name)) return SPLIT;
  const exact = BY_NAME.get(name) ?? NONE;
  const others = BY_PATTERN.filter(({ names: [first = ""] }) => isSame(name, first));
  return others.length === 0 ? exact : [...exact, ...others];
}

const ONLY_ASCII = /^[ -~]*$/;

/** Folds names that are the same where case, compatibility forms, invisible characters or final dots do not matter. */
export function foldName(name: string): string {
  const letters = ONLY_ASCII.test(name)
    ? name
    : name
        .normalize("NFKD")
        .replace(/\p{Default_Ignorable_Code_Point}/gu, "")
        .toUpperCase();
  // NTFS has streams in a file, `.git::$INDEX_ALLOCATION` among them.
  const own = /^([^:]+):/.exec(letters)?.[1] ?? letters;
  return own.toLowerCase().replace(/(?<![. ])[. ]+$/, "");
}

/** FAT and NTFS know `.gitconfig` as `gitcon~1`, too. */
const SHORT_NAME = /^([^~]{1,6})~\d+$/;

function isSame(name: string, place: string): boolean {
  const star = place.indexOf("*");
  if (star >= 0) {
    const [start, end] = [place.slice(0, star), place.slice(star + 1)];
    return name.length >= place.length - 1 && name.startsWith(start) && name.endsWith(end);
  }
  return name === place || SHORT_NAME.exec(name)?.[1] === place.replace(".", "").slice(0, 6);
}
