export const THEMES = ['system', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

const KEY = 'recount-theme';

export function readTheme(): Theme {
  const stored = localStorage.getItem(KEY);
  return THEMES.find((theme) => theme === stored) ?? 'system';
}

/** The styles follow `color-scheme`, which is the system's, or as chosen. */
export function applyTheme(theme: Theme): void {
  document.documentElement.style.colorScheme = theme === 'system' ? 'light dark' : theme;
  if (theme === 'system') localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, theme);
  dispatchEvent(new Event('recount-theme'));
}
