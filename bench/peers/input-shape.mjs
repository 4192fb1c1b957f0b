import { z } from "zod";

/** The input's schema, for the libraries that validate with zod. */
export const INPUT_SHAPE = {
  path: z.string(),
  lines: z.array(z.number().int()).optional(),
  follow: z.boolean().optional(),
};
