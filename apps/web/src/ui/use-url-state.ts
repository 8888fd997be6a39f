import { useNavigate, useSearch } from '@tanstack/react-router';
import { useCallback } from 'react';
import { NO_VIEW, SEPARATOR } from '../format/dimensions.ts';

/**
 * Parameters of a page's URL: choices are stored there, so that they can be bookmarked and shared. The values of a
 * repeated one are separated by SEPARATOR.
 */
export type UrlState = Readonly<Record<string, string>>;
export type UrlChange = Readonly<Record<string, string | undefined>>;

/** Undefined and empty values are removed. `replace` adds no entry to the browser's history. */
export function useUrlState(): [UrlState, (change: UrlChange, options?: { replace?: boolean }) => void] {
  const state = useSearch({ strict: false }) as UrlState;
  const navigate = useNavigate();
  const change = useCallback(
    (changes: UrlChange, { replace = false } = {}) =>
      void navigate({
        to: '.',
        search: (previous: UrlState) => ({
          // A time or filter that is removed must not be kept.
          ...NO_VIEW,
          ...Object.fromEntries(
            Object.entries({ ...previous, ...changes }).filter(([, value]) => value !== undefined && value !== ''),
          ),
        }),
        replace,
        resetScroll: false,
      } as never),
    [navigate],
  );
  return [state, change];
}

/** Like ordinary forms, because every value is a string. */
export function parseSearch(search: string): UrlState {
  const parameters = new URLSearchParams(search);
  return Object.fromEntries(
    [...new Set(parameters.keys())].map((name) => [name, parameters.getAll(name).join(SEPARATOR)]),
  );
}

export function stringifySearch(search: Record<string, unknown>): string {
  const entries = Object.entries(search).filter(([, value]) => value !== undefined && value !== '');
  const text = new URLSearchParams(
    entries.flatMap(([name, value]) =>
      String(value)
        .split(SEPARATOR)
        .map((each) => [name, each]),
    ),
  ).toString();
  return text === '' ? '' : `?${text}`;
}
