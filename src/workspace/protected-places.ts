/**
 * Places whose contents other programs run: as names below any directory, in lower case. What git runs or where it
 * finds it, keys and commands of SSH, and the files that shells and sessions read when they start.
 */
const PLACES: readonly (readonly string[])[] = [
  ...["hooks", "config", "config.worktree", "commondir", "modules", "worktrees"].map((name) => [
    ".git",
    name,
  ]),
  ...["git", "fish", "autostart", "environment.d", "systemd"].map((name) => [".config", name]),
  ...[".ssh", ".gitconfig"].map((name) => [name]),
  ...[".profile", ".login", ".logout", ".kshrc", ".mkshrc", ".cshrc", ".tcshrc"].map((name) => [name]),
  ...[".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases"].map((name) => [name]),
  ...[".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout"].map((name) => [name]),
  ...[".xprofile", ".xinitrc", ".xsession", ".xsessionrc"].map((name) => [name]),
];

/** The prefix of names that belong to Sandgate itself, such as those of files that are still being written. */
export const OWN_PREFIX = ".sandgate";

const NEW_VERSION = /^\.sandgate-[0-9a-f]{16}\.tmp$/;

/** Whether this is the name that a new version of a file has while it is written: it soon gets the name of the file. */
export function isNewVersion(name: string): boolean {
  return NEW_VERSION.test(name);
}

/**
 * Whether an entry may be changed only if a grant names its place.
 *
 * @param path The names from the root of the file system to the entry. Names that are the same on some file systems, such
 *   as in another case, count as the same.
 * @param named How many of these names the grant itself has. A place that ends among them is named by the grant.
 * @param isReplaced Whether anything could be put in the entry's place. The beginning of a protected place is then
 *   protected, too: a directory that gets the name `.git` would bring its hooks along.
 */
export function isProtected(path: readonly string[], named: number, isReplaced: boolean): boolean {
  const names = path.map(fold);
  return names.some((name, start) => {
    if (start >= named && name.startsWith(OWN_PREFIX)) return true;
    return PLACES.some((place) => {
      const end = Math.min(start + place.length, names.length);
      if (end <= named || (end - start < place.length && !isReplaced)) return false;
      return names.slice(start, end).every((each, index) => isSame(each, place[index] as string));
    });
  });
}

const ONLY_ASCII = /^[ -~]*$/;

/** Folds names that are the same where case, compatibility forms, invisible characters or final dots do not matter. */
function fold(name: string): string {
  const letters = ONLY_ASCII.test(name)
    ? name
    : name
        .normalize("NFKD")
        .replace(/\p{Default_Ignorable_Code_Point}/gu, "")
        .toUpperCase();
  return letters.toLowerCase().replace(/(?<![. ])[. ]+$/, "");
}

/** FAT and NTFS know `.gitconfig` as `gitcon~1`, too. */
const SHORT_NAME = /^([^~]{1,6})~\d+$/;

function isSame(name: string, place: string): boolean {
  return name === place || SHORT_NAME.exec(name)?.[1] === place.replace(".", "").slice(0, 6);
}
