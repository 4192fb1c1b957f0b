// The tools of the example: they only say what they did.

/** @param {{ name: string }} input */
export const readNote = ({ name }) => `The note ${name} says: buy pencils.`;

/** @param {{ name: string, text: string }} input */
export const saveNote = ({ name, text }) => ({ saved: name, characters: text.length });

/** @param {{ to: string, subject: string }} input */
export const sendMail = ({ to }) => `sent to ${to}`;
