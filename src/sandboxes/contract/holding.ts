/** Whether something holds on this machine: a sandbox, a limit, a store, a peer. */
export type Holding =
  | { readonly holds: true }
  | {
      readonly holds: false;
      readonly reason: string;
      /** What an operator can do about it; absent if nothing is known. */
      readonly remedy?: string;
    };
