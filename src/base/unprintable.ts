/**
 * Characters that a terminal interprets instead of showing them (control characters, escape sequences), that change the
 * order or the look of the text around them (bidi controls, variation selectors), or that are invisible.
 * The expression is global: use it with `replace` only.
 */
export const UNPRINTABLE: RegExp = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;
