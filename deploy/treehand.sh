#!/bin/sh
# Runs `treehand` for root on a machine where Treehand is a service, with the service's user, settings and secrets. Repeat
# here what you add to these with `systemctl edit treehand`.
exec systemd-run --quiet --pipe --wait --collect --service-type=exec \
  --property=User=treehand --property=StateDirectory=treehand --property=UMask=0077 --working-directory=/var/lib/treehand \
  --property=LoadCredential=github-token:/etc/treehand/github-token \
  --property=LoadCredential=model-key:/etc/treehand/model-key \
  --setenv=TREEHAND_CONFIG=/etc/treehand/treehand.toml --setenv=TREEHAND_STATE_DIR=/var/lib/treehand \
  --setenv=HOME=/var/lib/treehand --setenv=LANG=C.UTF-8 --setenv=USER="${SUDO_USER:-operator}" \
  -- /bin/sh -c '
    export TREEHAND_GITHUB__TOKEN_FILE="$CREDENTIALS_DIRECTORY/github-token"
    export TREEHAND_AGENT__KEY_FILE="$CREDENTIALS_DIRECTORY/model-key"
    exec /opt/treehand/bin/treehand "$@"' treehand "$@"
