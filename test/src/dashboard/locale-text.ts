/**
 * Figures as a browser of a language should print them, by separate rules of this file. This is the test of
 * `apps/web/src/format` as it is shown.
 */
export interface LocaleText {
  count(value: number | null): string;
  /** Two decimals; four below a cent. */
  money(value: number | null): string;
  /** With one decimal and a letter for thousands. */
  tokens(value: number | null): string;
  percent(value: number | null): string;
}

export type FigureKind = keyof LocaleText;

/** Spaces of whatever width are one to a reader; versions of ICU choose differently. */
export const withPlainSpaces = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();

export function createLocaleText(locale: string): LocaleText {
  const print = (value: number | null, missing: string, options: Intl.NumberFormatOptions): string =>
    value === null ? missing : withPlainSpaces(new Intl.NumberFormat(locale, options).format(value));
  return {
    count: (value) => print(value, '–', {}),
    money: (value) => {
      const digits = value !== null && value !== 0 && Math.abs(value) < 0.01 ? 4 : 2;
      const currency = { style: 'currency', currency: 'USD', currencyDisplay: 'narrowSymbol' } as const;
      return print(value, 'unpriced', { ...currency, minimumFractionDigits: digits, maximumFractionDigits: digits });
    },
    tokens: (value) => print(value, '–', { notation: 'compact', maximumFractionDigits: 1 }),
    percent: (value) => print(value, '–', { style: 'percent', maximumFractionDigits: 1 }),
  };
}
