/** What every toolset can be registered with. */
export interface ToolsetNaming {
  /** What the name of each tool begins with, such as `project_`. Default: nothing. */
  readonly prefix?: string;
}
