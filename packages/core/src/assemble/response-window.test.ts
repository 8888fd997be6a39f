import { expect, it, vi } from 'vitest';
import { createResponseWindowState, ResponseWindow } from './response-window.ts';

const toRecord = (index: number) => ({
  responseId: `msg_${String(index).padStart(24, '0')}`,
  requestId: null,
  uuid: null,
});

it('recognises late lines of the latest 200,000 closed responses, and reports when the first is forgotten', () => {
  const onKeyForgotten = vi.fn();
  const closed: (string | null)[] = [];
  const window = new ResponseWindow(
    { sessionId: 's', maxOpenMessages: 2, onKeyForgotten },
    ({ groupKey }) => closed.push(groupKey),
    createResponseWindowState(),
  );
  const hold = (from: number, to: number) => {
    for (let index = from; index < to; index++) {
      const { groupKey } = window.find(toRecord(index), index);
      window.hold({ groupKey, message: undefined, progress: undefined });
    }
  };
  hold(0, 200_002);
  expect(closed).toHaveLength(200_000);
  expect(window.find(toRecord(0), 1)).toMatchObject({ item: undefined, isLate: true });
  expect(window.find(toRecord(200_001), 1)).toMatchObject({ item: { position: 200_001 }, isLate: false });
  expect(onKeyForgotten).not.toHaveBeenCalled();
  hold(200_002, 200_003);
  expect(onKeyForgotten).toHaveBeenCalledTimes(1);
  expect(window.find(toRecord(0), 1).isLate).toBe(false);
  expect(window.find(toRecord(1), 1).isLate).toBe(true);
});
