const dollars = new Intl.NumberFormat('en-US', { style: 'currency', currency: 'USD' });
const whole = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });

/** An amount of dollars or tokens, in words. */
export const formatAmount = (amount: unknown, unit: unknown): string =>
  unit === 'usd' ? dollars.format(Number(amount)) : `${whole.format(Number(amount))} tokens`;

/** Characters that let a name display as another one: those that change the direction of text, and those without width. */
const DECEIVING = /[\p{Bidi_Control}\u200B\u2060\uFEFF]/gu;

/** One line that displays what it has. Names come from people, and a mail's header is one line. */
export const toLine = (value: unknown): string =>
  String(value)
    .replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' ')
    .replaceAll(DECEIVING, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
