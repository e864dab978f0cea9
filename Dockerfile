# Image of Treehand. deploy/README.md describes how to run it, and what its sandbox needs.
#
#   docker build -t treehand .
#   docker build -t treehand --build-arg PACKAGES="nodejs npm" .     # more programs for agents
#   docker build -t treehand --platform linux/arm64 .                # for another machine: amd64 or arm64

# Debian 12, pinned by date and digest. To use another one: --build-arg BASE=...
ARG BASE=debian:bookworm-20261005-slim@sha256:7c7b2c966bc9ee8cedfeef67e0e279108992c77681fa595db4a9d65c06ccc587

FROM ${BASE} AS built
SHELL ["/bin/bash", "-euo", "pipefail", "-c"]
RUN apt-get update \
 && apt-get install --yes --no-install-recommends python3-venv
WORKDIR /src
COPY requirements.lock pyproject.toml treehand.py README.md CHANGELOG.md LICENSE ./
COPY docs docs
COPY deploy/README.md deploy/compose.yaml deploy/healthcheck.py deploy/seccomp.json deploy/treehand.service \
     deploy/treehand.sh deploy/
COPY deploy/github-actions deploy/github-actions
COPY deploy/kubernetes deploy/kubernetes
COPY bot bot
# Most of the size is the agent's own program. Large families of plugins are compiled when they are needed.
RUN python3 -m venv /opt/treehand \
 && /opt/treehand/bin/pip install --quiet --no-compile --require-hashes --requirement requirements.lock \
 && /opt/treehand/bin/pip install --quiet --no-compile --no-deps --no-build-isolation . \
 && /opt/treehand/bin/pip uninstall --quiet --yes pip setuptools \
 && find /opt/treehand -type d \( -name tests -o -name __pycache__ \) -prune -exec rm -r {} + \
 && python3 -m compileall -q -x '/(pygments/(lexers|styles)|apprise/plugins)/' /opt/treehand/lib
COPY deploy/healthcheck.py /opt/treehand/

FROM ${BASE} AS system
ARG PACKAGES=""
SHELL ["/bin/bash", "-euo", "pipefail", "-c"]
# Nothing is installed in the finished image, so the package manager and its dependencies are removed. Perl is kept if
# PACKAGES names it. /var/lib/dpkg/status is kept for vulnerability scanners.
RUN apt-get update \
 && apt-get install --yes --no-install-recommends bubblewrap ca-certificates git python3 tini ${PACKAGES} \
 && groupadd --gid 10001 treehand \
 && useradd --uid 10001 --gid 10001 --home-dir /var/lib/treehand --shell /usr/sbin/nologin treehand \
 && install -d -o treehand -g treehand -m 0700 /var/lib/treehand \
 && install -d -m 0755 /etc/treehand \
 && ln -s /opt/treehand/bin/treehand /usr/local/bin/treehand \
 && cd /usr/lib/git-core \
 && ln -sf ../../bin/git git \
 && rm -f git-daemon git-http-backend git-http-fetch git-http-push git-imap-send git-shell scalar \
      /usr/bin/git-shell /usr/bin/scalar \
 && find /usr/lib/python3.11 -type d \( -name pydoc_data -o -name test -o -name lib2to3 \) -prune -exec rm -r {} + \
 && case " ${PACKAGES} " in *" perl "*) ;; *) rm -rf /usr/bin/perl* /usr/lib/*-linux-gnu/perl* /usr/share/perl* \
      /usr/lib/*-linux-gnu/libperl.so* ;; esac \
 && rm -rf /usr/bin/apt* /usr/bin/dpkg* /usr/lib/apt /usr/lib/dpkg /usr/lib/*-linux-gnu/libapt-* /etc/apt /var/lib/apt \
      /var/cache/* /var/log/* /var/lib/dpkg/info /usr/lib/*-linux-gnu/gconv /usr/sbin/*e2fs* /usr/sbin/mk* \
      /usr/share/doc /usr/share/man /usr/share/info /usr/share/locale /usr/share/bash-completion /usr/share/lintian \
 && find / -xdev -perm /6000 -type f -exec chmod a-s {} +

FROM scratch
LABEL org.opencontainers.image.title="Treehand" \
      org.opencontainers.image.description="Label an issue, get a draft pull request" \
      org.opencontainers.image.licenses="MIT"
COPY --from=system / /
COPY --from=built /opt/treehand /opt/treehand
ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    LANG=C.UTF-8 \
    HOME=/var/lib/treehand \
    TREEHAND_CONFIG=/etc/treehand/treehand.toml \
    TREEHAND_STATE_DIR=/var/lib/treehand
USER 10001:10001
WORKDIR /var/lib/treehand
VOLUME /var/lib/treehand
HEALTHCHECK --interval=30s --timeout=5s --start-period=90s --retries=3 \
    CMD ["python3", "-I", "-S", "/opt/treehand/healthcheck.py"]
ENTRYPOINT ["/usr/bin/tini", "--", "treehand"]
CMD ["run"]
