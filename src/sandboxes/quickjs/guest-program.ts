/** The modules of a tool. */
export interface GuestProgram {
  /** The name of the module that exports the tool. */
  readonly entry: string;
  /** The sources by name. Names are paths relative to the tool's folder, with `/` as the separator. */
  readonly sources: Readonly<Record<string, string>>;
  /** The modules that are imported by another name: `lib.ts` as `lib.js`. */
  readonly aliases?: ReadonlyMap<string, string>;
  /** The source maps that are files beside modules, by the modules' names. Untrusted. */
  readonly maps?: Readonly<Record<string, string>>;
  /** The name of the exported function. */
  readonly exportName: string;
}
