/** The beginning of the verdict on code that compiles. The CPU time of compiling it follows, in ms. */
export const COMPILED = "+";

/** The size of a length in the input of the compiling process. One precedes each core module. */
export const LENGTH_BYTES = 4;
