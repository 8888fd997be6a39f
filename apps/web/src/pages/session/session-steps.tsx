import type { Session } from '@recount/contract';
import { useNavigate } from '@tanstack/react-router';
import { type ReactNode, useCallback } from 'react';
import { formatCount } from '../../format/values.ts';
import { Pending } from '../../ui/states.tsx';
import { useKeys } from '../../ui/use-keys.ts';
import { toListSearch } from '../sessions/list-query.ts';
import { useSessionList } from './use-session-list.ts';

interface SessionStepsProps {
  sessionId: string;
  isListOpen: boolean;
  toggleList: () => void;
}

/** Opens the session list, and the next and the previous session of it. */
export function SessionSteps({ sessionId, isListOpen, toggleList }: SessionStepsProps): ReactNode {
  const { rows, index, total, error } = useSessionList(sessionId);
  const navigate = useNavigate();
  const next = index < 0 ? undefined : rows?.[index + 1];
  const previous = rows?.[index - 1];
  const open = useCallback(
    (session: Session | undefined): void => {
      if (session === undefined) return;
      const params = { sessionId: session.session_id };
      void navigate({ to: '/sessions/$sessionId', params, search: toListSearch } as never);
    },
    [navigate],
  );
  useKeys({ J: () => open(next), K: () => open(previous) });
  return (
    <>
      <button
        type="button"
        className="session-list-toggle"
        aria-label="Session list"
        aria-expanded={isListOpen}
        aria-controls="session-list"
        onClick={toggleList}
      >
        <span className="wide-only">Session </span>list
      </button>
      <Step
        label="Previous session"
        sign="‹"
        shortcut="K"
        isThere={previous !== undefined}
        step={() => open(previous)}
      />
      {rows === undefined && error === null && <Pending />}
      {index >= 0 && total !== undefined && (
        <span className="muted">
          {formatCount(index + 1)} of {formatCount(total)}
        </span>
      )}
      <Step label="Next session" sign="›" shortcut="J" isThere={next !== undefined} step={() => open(next)} />
    </>
  );
}

/** Its button stays focusable at the end of the list, because a disabled one would lose the focus. */
const Step = ({
  label,
  sign,
  shortcut,
  isThere,
  step,
}: {
  label: string;
  sign: string;
  shortcut: string;
  isThere: boolean;
  step: () => void;
}): ReactNode => (
  <button
    type="button"
    className="quiet session-step"
    aria-label={label}
    aria-keyshortcuts={`Shift+${shortcut}`}
    title={`${label} (${shortcut})`}
    aria-disabled={!isThere}
    onClick={step}
  >
    {sign}
  </button>
);
