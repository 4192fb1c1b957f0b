import { LruMap } from "../base/lru-map.ts";

/** Places that tools may not simply write to, since other programs execute or follow their contents. */
export interface ProtectedPlace {
  /** Names below any directory, in lower case, with `/` between them. `*` in a name is any text. */
  readonly path: string;
  /** Whether a person can be asked about a change by a host tool, or only a grant that names the place allows it. */
  readonly list: "denied" | "asked";
  /** Completes "what is there …". */
  readonly reason: string;
  /** Set for places of Sandgate itself, which only grants that name them open. */
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
    ".git/hooks .git/config .git/config.worktree .git/commondir .git/modules .git/worktrees .git/info/attributes .gitconfig " +
      ".gitmodules .githooks .git-hooks .husky .config/git .config/husky .git-credentials",
  ),
  ...places(
    "denied",
    "tells other programs for version control what to run",
    ".hg/hgrc* .hg/sharedpath .hgrc .config/hg .jj/repo .jjconfig.toml .config/jj .sl/config .p4config .tigrc .config/tig .config/lazygit " +
      ".config/gh",
  ),
  ...places(
    "denied",
    "holds keys, or commands that give credentials or run at a login",
    ".ssh .gnupg .aws .azure .boto .kube .docker .config/gcloud .config/rclone .pam_environment .netrc .pgpass .rhosts " +
      ".shosts .k5login",
  ),
  ...places(
    "denied",
    "is read by shells and sessions when they start, or when they enter the directory",
    ".profile .login .logout .kshrc .mkshrc .cshrc .tcshrc .bashrc .bash_* .bashrc.d .shrc .config/bash " +
      ".local/share/bash-completion .zsh .zshrc .zshenv .zprofile .zlogin .zlogout .zimrc .zpreztorc .zprezto .p10k.zsh " +
      ".oh-my-zsh .oh-my-bash .fzf.bash .fzf.zsh .config/zsh .config/fish .local/share/fish .xonshrc .config/xonsh .elvish " +
      ".config/elvish .config/nushell .config/powershell .config/starship.toml .inputrc .envrc* .direnvrc .config/direnv " +
      ".autoenv* .rvmrc .nvm .asdf .pyenv .rbenv .sdkman .volta .local/bin .local/lib",
  ),
  ...places(
    "denied",
    "is run when a desktop or a service starts, or a mail arrives",
    ".xprofile .xinitrc .xserverrc .xsession .xsessionrc .xbindkeysrc .config/autostart .config/autostart-scripts " +
      ".config/environment.d .config/systemd .config/plasma-workspace .config/user-dirs.dirs .config/pipewire .config/awesome " +
      ".config/bspwm .config/hypr .config/i3 .config/niri .config/openbox .config/polybar .config/qtile .config/river " +
      ".config/sway .config/sxhkd .config/waybar .config/xmonad .xmonad .local/share/applications .local/share/dbus-1 " +
      ".local/share/gnome-shell .local/share/kwin .local/share/nautilus .local/share/systemd library/launchagents .forward " +
      ".procmailrc .mailcap",
  ),
  ...places(
    "denied",
    "has commands that pagers, file managers, mail programs and downloads run",
    ".lessfilter .lesskey .config/lesskey .ripgreprc .curlrc .wgetrc .config/yt-dlp .muttrc .mutt .config/mutt " +
      ".config/neomutt .config/mpv .config/lf .config/nnn .config/ranger .config/yazi",
  ),
  ...places(
    "denied",
    "configures coding agents, with their hooks, MCP servers and permissions",
    ".adal .agent .agents .aiassistant .ai/mcp .aider.conf.yml .aider.model.settings.yml .amazonq .amp .antigravity " +
      ".augment .augmentcode .claude .claude.json .claude-plugin .mcp.json .cline .clinerules/hooks .codebuddy .codeium " +
      ".codex .commandcode .continue .continuerc.json .copilot .github/copilot .github/hooks .github/mcp.json .crush " +
      ".crush.json crush.json .cursor .deepagents .devin .factory firebender.json .gemini .gitlab/duo .goose .gptme " +
      "gptme.toml .grok .hermes .iflow .junie .kilo kilo.json kilo.jsonc .kilocode .kilocodemodes .kimi .kimi-code .kiro " +
      ".kode .mcpjam .muse .mux .neovate .opencode opencode.json opencode.jsonc .openhands .pi .pochi .qodo .qoder .qwen " +
      ".reasonix reasonix.toml .roo .roomodes .rovodev .ruler .rulesync rulesync.jsonc .tabnine .takt .trae .vibe .warp " +
      ".windsurf .zencoder .zoo .config/agents .config/amp .config/crush .config/cursor .config/devin .config/github-copilot " +
      ".config/goose .config/kilo .config/muse .config/opencode",
  ),
  ...places(
    "denied",
    "configures Sandgate, or says what its policy has to decide",
    "sandgate.yaml sandgate.lock *.policy-test.yaml",
  ),
  ...places(
    "denied",
    "has tasks and programs that editors and development environments start",
    ".vscode .vscode-oss .vscode-server *.code-workspace .idea .ideavimrc .run .fleet .vs .zed .helix .nova .theia .atom " +
      ".bsp .factorypath .externaltoolbuilders *.sublime-project .kateproject* .lazy.lua .luarc.json* .nvim.lua .nvimrc .exrc " +
      ".virc .vim .vimrc .gvimrc .lvimrc .vimspector.json rust-analyzer.toml .rust-analyzer.toml .emacs .emacs.d .spacemacs " +
      ".doom.d .dir-locals.el .dir-locals-2.el .kakrc .nanorc .config/code .config/vscodium .config/sublime-text " +
      ".config/jetbrains .config/emacs .config/helix .config/kak .config/micro .config/nano .config/nvim .config/vim " +
      ".config/zed .local/share/nvim .devcontainer .devcontainer.json .gitpod.yml .idx .replit .stackblitzrc .codesandbox",
  ),
  ...places(
    "denied",
    "is run by debuggers, interpreters and terminals when they start",
    ".gdbinit .gdbearlyinit .config/gdb .lldbinit* .irbrc .pryrc .rdbgrc .rdebugrc .byebugrc .ghci .rprofile .renviron " +
      ".pdbrc .pythonrc .pythonrc.py .ptpython .config/ptpython .ipython .jupyter .local/share/jupyter .perldb .iex.exs .mix " +
      ".erlang .ocamlinit .utoprc .octaverc .julia/config .rootlogon.c .rootrc .sbclrc .guile .racketrc .lein .sbt .psysh.php " +
      ".config/psysh .psqlrc .sqliterc .duckdbrc .mongorc.js .mongoshrc.js .my.cnf .screenrc .byobu .config/byobu .tmux " +
      ".tmux.conf .tmux.conf.local .tmuxinator.yml .config/tmux .config/tmuxinator .config/zellij .config/alacritty " +
      ".config/foot .config/ghostty .config/kitty .config/terminator .config/wezterm .wezterm.lua .hyper.js",
  ),
  ...places(
    "asked",
    "is followed by coding agents as instructions",
    "agents.md agents.local.md agents.override.md agent.md .agent.md claude.md claude.local.md codebuddy.md crush.md " +
      "gemini.md hermes.md .hermes.md iflow.md qwen.md qwen.local.md reasonix.md replit.md warp.md .augment-guidelines " +
      ".cursorrules .windsurfrules .clinerules* .roorules* .kilocoderules* .continuerules .goosehints .rules " +
      ".github/copilot-instructions.md .github/instructions .github/prompts .github/chatmodes .github/agents .github/skills",
  ),
  ...places(
    "asked",
    "is run by continuous integration",
    ".github/workflows .github/actions .gitea/workflows .forgejo/workflows .gitlab-ci.yml .gitlab/ci .circleci .travis.yml " +
      "azure-pipelines.yml .azure-pipelines .azuredevops .vsts-ci.yml .build.yml .builds .harness bitrise.yml codemagic.yaml " +
      "buildspec.yml bitbucket-pipelines.yml jenkinsfile .jenkins .buildkite .drone.yml .woodpecker* .appveyor.yml " +
      "appveyor.yml .cirrus.* .teamcity .space.kts qodana.yaml .semaphore .tekton cloudbuild.yaml .codefresh codefresh.yml " +
      "screwdriver.yaml .scrutinizer.yml wercker.yml .zuul.yaml .zuul.d zuul.yaml zuul.d .eas/workflows ci_scripts " +
      ".readthedocs.* .actrc .goreleaser.* .releaserc*",
  ),
  ...places(
    "asked",
    "tells package managers and build tools what to run, or where packages come from",
    ".npmrc .yarnrc* .yarn/releases .yarn/plugins .yarn/sdks .pnp.* .pnpmfile.* pnpmfile.* pnpm-workspace.yaml .config/pnpm " +
      "bunfig.toml .bunfig.toml .pypirc pip.conf pip.ini .pip .config/pip uv.toml .config/uv poetry.toml .config/pypoetry " +
      "pdm.toml .pdm.toml .pdm-python .config/pdm .cargo .gemrc .bundle .mvn .mavenrc .m2/settings.xml gradle/wrapper " +
      ".gradle/init.d .gradle/init.gradle .gradle/gradle.properties .jvmopts .sbtopts nuget.config global.json " +
      ".config/dotnet-tools.json .condarc .mambarc .conan2 .composer .config/composer .config/go .luarocks .cabal .stack " +
      ".opam .bazelrc .bazeliskrc tools/bazel .buckconfig* .terraformrc .tofurc ansible.cfg .ansible.cfg",
  ),
  ...places(
    "asked",
    "tells version managers which program to run",
    ".tool-versions .*-version .nvmrc .dvmrc .fvmrc .jabbarc .sdkmanrc .prototools mise.toml mise.*.toml .mise.toml " +
      ".mise.*.toml .mise mise/config.toml .miserc* .config/mise .config/mise.toml .config/mise.*.toml .asdfrc rust-toolchain " +
      "rust-toolchain.toml",
  ),
  ...places(
    "asked",
    "is run by hooks and filters of git",
    ".pre-commit-config.* .pre-commit-hooks.* prek.toml lefthook.* lefthook-local.* .lefthook* .config/lefthook* hk.pkl " +
      "captainhook.json grumphp.yml .rusty-hook.toml .lintstagedrc* lint-staged.config.* .simple-git-hooks.* " +
      "simple-git-hooks.* .huskyrc* .overcommit.yml .gitattributes .lfsconfig",
  ),
];

/** The text about protected places in the descriptions of tools. There are too many to name them all. */
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
 * A folder with one of these lists of names is a repository to git, whatever its own name is: git reads its `config`, or that of the
 * folder that `commondir` names, and runs what that names, when it is started there.
 */
const REPOSITORY_NAMES = [
  ["HEAD", "objects", "refs"],
  ["HEAD", "commondir"],
];

export const REPOSITORY_PLACE: ProtectedPlace = {
  path: "HEAD beside objects and refs, or beside commondir",
  list: "denied",
  reason: "makes the folder a repository, whose configuration tells git which programs to run",
};

/** The entries that make a folder a repository for git, or say what git runs, in lower case. */
const RUN_BY_GIT = ["head", "config", "config.worktree", "hooks", "commondir", "modules", "worktrees"];

/** Whether git executes or follows an entry of this name in a repository. `.git` has places of its own. */
export function isRunByGit(name: string, folder: string | undefined): boolean {
  return folder !== ".git" && RUN_BY_GIT.includes(foldName(name));
}

/** Whether a folder would become a repository by an entry of this name. */
export function completesRepository(name: string, exists: (other: string) => boolean): boolean {
  const folded = foldName(name);
  return REPOSITORY_NAMES.some(
    (names) =>
      names.some((each) => foldName(each) === folded) &&
      names.every((each) => foldName(each) === folded || exists(each) || exists(foldName(each))),
  );
}

/** Whether a folder with these names is a repository to git. */
export function isRepositoryFolder(exists: (name: string) => boolean): boolean {
  return REPOSITORY_NAMES.some((names) => names.every(exists));
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
  const byPattern = BY_PATTERN.filter(({ names: [first = ""] }) => isSame(name, first));
  return byPattern.length === 0 ? exact : [...exact, ...byPattern];
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
