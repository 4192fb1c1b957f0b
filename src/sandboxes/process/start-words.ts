/** What is written immediately before the program begins, or if it does not since its working directory is wrong. */
export const STARTED = "s";
export const NO_DIRECTORY = "n";
export const OUTSIDE = "o";
