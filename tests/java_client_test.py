"""Drives `flyball apiserver` with the JVM's clients (tests/clients/java/): fabric8's kubernetes-client and the Java Operator SDK.

    java_client_test.py build/flyball
"""
import os
import shutil
import sys

from client_run import build, drive, sources
from program import skip

BUILD_SECONDS = 400


def main():
    if not shutil.which('mvn') or not shutil.which('javac'):
        skip('there is no JDK or no maven')
    binary = os.path.abspath(sys.argv[1])
    work = os.path.join(os.path.dirname(binary), 'java_client')
    sources('java', work)
    classpath = os.path.join(work, 'classpath.txt')
    newest = max(os.path.getmtime(os.path.join(folder, file)) for folder, _, files in os.walk(work) for file in files
                 if file.endswith(('.java', 'pom.xml')))
    if not os.path.exists(classpath) or os.path.getmtime(classpath) < newest:
        build(['mvn', '-B', '-q', 'compile', 'dependency:build-classpath', '-Dmdep.outputFile=classpath.txt'], work, BUILD_SECONDS)
        os.utime(classpath)
    with open(classpath) as f:
        path = os.path.join(work, 'target', 'classes') + ':' + f.read().strip()
    drive(binary, ['java', '-XX:TieredStopAtLevel=1', '-cp', path, 'dev.flyball.ClientTest'], work)


main()
