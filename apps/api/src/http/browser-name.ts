/** In this order, because most browsers also call themselves Chrome, or Safari. */
const BROWSERS = [
  ['Edg', 'Edge'],
  ['OPR', 'Opera'],
  ['Firefox', 'Firefox'],
  ['FxiOS', 'Firefox'],
  ['CriOS', 'Chrome'],
  ['Chrome', 'Chrome'],
  ['Safari', 'Safari'],
] as const;
const SYSTEMS = [
  ['iPhone', 'iPhone'],
  ['iPad', 'iPad'],
  ['Android', 'Android'],
  ['Windows', 'Windows'],
  ['Mac OS X', 'macOS'],
  ['CrOS', 'ChromeOS'],
  ['Linux', 'Linux'],
] as const;
const MAX_NAME_LENGTH = 60;

/** A short name for a browser by its user agent, to tell sign-ins apart; null if it has none. */
export function toBrowserName(userAgent: string | undefined): string | null {
  const text = (userAgent ?? '').trim();
  if (text === '') return null;
  const browser = BROWSERS.find(([token]) => text.includes(`${token}/`))?.[1];
  if (browser === undefined) return text.slice(0, MAX_NAME_LENGTH);
  const system = SYSTEMS.find(([token]) => text.includes(token))?.[1];
  return system === undefined ? browser : `${browser} on ${system}`;
}
