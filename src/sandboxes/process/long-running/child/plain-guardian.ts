/** The guarding process where no system calls can be made: a descendant whose parents have all ended is not found. */
import { guard } from "./guard.ts";

guard();
