/**
 * The options of the Node.js processes that launch programs. They have no variables, such as `NODE_OPTIONS`. With a young generation
 * of this size, none of them collects garbage before it becomes the program: it could not once the program's limit of memory applies.
 */
export const NODE_OPTIONS: readonly string[] = [
  "--disable-warning=ExperimentalWarning",
  "--disable-sigusr1",
  "--min-semi-space-size=16",
];
