/** The schema of the argument `path` of tools for one file. */
export const FILE_PATH = {
  type: "string",
  minLength: 1,
  description: "The path of the file, relative to the workspace",
} as const;
