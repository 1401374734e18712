# SPDX-License-Identifier: Apache-2.0
# The program and the library for CPUs, and predictions for every GPU.
#
#   docker build -t raceline . && docker run --rm raceline predict --device h200 --shape h=32/8,q=1,k=8192,d=128
FROM debian:12
COPY . /usr/src/raceline
WORKDIR /usr/src/raceline
RUN tools/bootstrap.sh build
RUN tools/install.sh /usr/local
ENTRYPOINT ["raceline"]
