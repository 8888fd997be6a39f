import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Failure } from './states.tsx';

interface ActButtonProps {
  label: string;
  /** The rest of the name for screen readers. */
  about?: string;
  /** Sends the request. */
  act: () => Promise<unknown>;
  /** Called after the request, whether it succeeded or not. */
  refresh: () => unknown;
  isDanger?: boolean;
  isDisabled?: boolean;
  title?: string | undefined;
}

/** A button that sends a request; a failure is beside it. */
export function ActButton({
  label,
  about,
  act,
  refresh,
  isDanger = false,
  isDisabled = false,
  title,
}: ActButtonProps): ReactNode {
  const { isPending, error, mutate } = useMutation({ mutationFn: act, onSettled: refresh });
  return (
    <>
      <button
        type="button"
        className={isDanger ? 'danger' : undefined}
        disabled={isDisabled || isPending}
        title={title}
        onClick={() => mutate()}
      >
        {label}
        {about !== undefined && <span className="hidden-label"> {about}</span>}
      </button>
      {error !== null && <Failure error={error} />}
    </>
  );
}
