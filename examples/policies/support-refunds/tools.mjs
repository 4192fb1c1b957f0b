// Stands for your tools: put them here, and keep the names and schemas that the policy is about.
export const run = () => null;
