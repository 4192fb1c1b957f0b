/** The options of the Node.js processes that launch programs. They have no variables, such as `NODE_OPTIONS`. */
export const NODE_OPTIONS: readonly string[] = ["--disable-warning=ExperimentalWarning", "--disable-sigusr1"];
