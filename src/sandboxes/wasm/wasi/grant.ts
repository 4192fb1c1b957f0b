/** What a call may reach through WASI. Everything else is empty or denied. */
export interface WasiGrant {
  /** Environment variables: names and values. */
  readonly env: readonly (readonly [name: string, value: string])[];
  readonly clock: boolean;
  readonly random: boolean;
}
