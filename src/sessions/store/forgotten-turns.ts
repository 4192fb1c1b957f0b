/** How many turns of a session a store knows to be forgotten. */
export const MAX_FORGOTTEN_TURNS = 1_000;
