import type { LiveEvent } from '@recount/core/live';
import { expect, expectTypeOf, it } from 'vitest';
import { type FollowedEvent, LIVE_EVENT_SCHEMAS } from './live-events.ts';

type Ids = { session_id: string; stream_id: string };
type Flat<T> = { [Key in keyof T]: T[Key] };
type WithIds<E> = E extends unknown ? Flat<E & Ids> : never;

it('describes exactly the events of core, with the ids of session and stream', () => {
  expectTypeOf<FollowedEvent>().toEqualTypeOf<WithIds<LiveEvent>>();
  for (const [name, { shape }] of Object.entries(LIVE_EVENT_SCHEMAS)) expect(shape.type.value).toBe(name);
});
