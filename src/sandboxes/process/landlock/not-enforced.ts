/** The name of something that Landlock does not hold. */
export type NotEnforced =
  | "attributes"
  | "existence"
  | "package files"
  | "processes"
  | "protected places"
  | "user"
  | "devices"
  | "host name"
  | "temporary files";

/**
 * What Landlock does not hold and namespaces would, by name: `docs/programs.md` and `SECURITY.md` have the same list.
 * `npm run test:escapes` compares it with what gets out.
 */
export const NOT_ENFORCED: Readonly<Record<NotEnforced, string>> = Object.freeze({
  attributes: "mode, owner, times and extended attributes of all files that belong to the user",
  existence: "whether a file exists, its size and attributes, and when entries of a directory change",
  "package files":
    "the nearest package.json above a granted directory or file, which Node.js reads and ends without",
  processes: "which processes run, their sessions, and on which CPUs the user's processes run",
  "protected places": "until a program ends, what it makes there in a directory that is granted with write",
  user: "the program runs as the user that Sandgate runs as; as root, it owns root's files",
  devices: "device files in a granted directory",
  "host name": "the name of the machine",
  "temporary files": "the size of the temporary directory",
});
