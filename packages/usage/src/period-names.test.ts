import { createLocalClock } from '@recount/core';
import { expect, it } from 'vitest';
import { createPeriodNames } from './period-names.ts';

const nameOf = (key: 'hour' | 'day' | 'week' | 'month', moment: string, timeZone: string): string =>
  createPeriodNames(key, createLocalClock(timeZone))(Date.parse(moment));

it.each([
  ['hour', '2026-10-25T00:30:00Z', 'Europe/Berlin', '2026-10-25T02:00:00+02:00'],
  ['hour', '2026-10-25T01:30:00Z', 'Europe/Berlin', '2026-10-25T02:00:00+01:00'],
  ['hour', '2026-06-01T18:14:59.999Z', 'Asia/Kathmandu', '2026-06-01T23:00:00+05:45'],
  ['hour', '2026-03-08T03:30:00Z', 'America/St_Johns', '2026-03-08T00:00:00-03:30'],
  // Clocks go back by half an hour at 15:00: the hour begins before that.
  ['hour', '2026-04-04T15:15:00Z', 'Australia/Lord_Howe', '2026-04-05T01:30:00+11:00'],
  ['day', '2026-03-28T22:59:59.999Z', 'Europe/Berlin', '2026-03-28'],
  ['week', '2026-03-29T21:59:59.999Z', 'Europe/Berlin', '2026-03-23'],
  ['month', '2026-03-31T22:00:00Z', 'Europe/Berlin', '2026-04'],
  ['day', '9999-12-31T23:30:00Z', 'Europe/Berlin', '10000-01-01'],
  ['day', '1970-01-01T00:30:00Z', 'America/Havana', '1969-12-31'],
] as const)('names the %s of %s in %s', (key, moment, timeZone, name) => {
  expect(nameOf(key, moment, timeZone)).toBe(name);
});
