/** Hosts that are the program itself, for which it does not use the proxy. */
export const OWN_LOOPBACK: readonly string[] = ["localhost", "127.0.0.1", "::1"];
