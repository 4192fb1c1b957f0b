/** How many HTTP requests a call sends, at the most. */
export const MAX_REQUESTS = 64;

/** How many of them are on their way at once, at the most. */
export const MAX_AT_ONCE = 6;

/** How many redirects are followed for one request, at the most. */
export const MAX_REDIRECTS = 5;

/**
 * Bytes of a response's body, decompressed, and of a file that is read, at the most: on its way into the guest this
 * process holds several copies, which no other limit counts.
 */
export const MAX_TEXT_BYTES: number = 8 * 1_024 * 1_024;
