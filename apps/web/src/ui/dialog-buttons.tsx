import type { ReactNode } from 'react';
import { Failure } from './states.tsx';

interface DialogButtonsProps {
  label: string;
  /** The request that the dialog sends. */
  of: { isPending: boolean; error: Error | null };
  /** Left out if the button submits the dialog's form. */
  act?: () => void;
  isDanger?: boolean;
  /** True while a field has no value that can be sent. */
  isDisabled?: boolean;
  close: () => void;
}

/** The end of a dialog that changes something: one button sends the request, the other closes; a failure is below. */
export const DialogButtons = ({
  label,
  of: { isPending, error },
  act,
  isDanger = false,
  isDisabled = false,
  close,
}: DialogButtonsProps): ReactNode => (
  <>
    <div className="row">
      <button
        type={act === undefined ? 'submit' : 'button'}
        className={isDanger ? 'danger' : 'primary'}
        disabled={isDisabled || isPending}
        onClick={act}
      >
        {label}
      </button>
      <button type="button" onClick={close}>
        Cancel
      </button>
    </div>
    {error !== null && <Failure error={error} />}
  </>
);
