const dollars = new Intl.NumberFormat('en-US', { style: 'currency', currency: 'USD' });
const whole = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });

/** An amount of dollars or tokens, in words. */
export const formatAmount = (amount: unknown, unit: unknown): string =>
  unit === 'usd' ? dollars.format(Number(amount)) : `${whole.format(Number(amount))} tokens`;

/** One line. Names come from people, and a mail's header is one line. */
export const toLine = (value: unknown): string => String(value).replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' ');
