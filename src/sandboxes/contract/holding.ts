/** Whether a sandbox, a limit, a store or a peer works on this machine. */
export type Holding =
  | { readonly holds: true }
  | {
      readonly holds: false;
      readonly reason: string;
      /** What an operator can do about it; absent if nothing is known. */
      readonly remedy?: string;
    };
